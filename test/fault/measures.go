package main

import "errors"

func detect(*yard, options, *book) error   { return errors.New("todo") }
func resume(*yard, options, *book) error   { return errors.New("todo") }
func mortal(*yard, options, *book) error   { return errors.New("todo") }
func thousand(*yard, options, *book) error { return errors.New("todo") }
