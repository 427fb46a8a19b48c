package main

import "github.com/spf13/cobra"

func newList(streams Streams) *cobra.Command { return &cobra.Command{Use: "list"} }
func newGet(streams Streams) *cobra.Command  { return &cobra.Command{Use: "get"} }
