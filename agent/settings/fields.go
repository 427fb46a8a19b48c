package settings

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Fields returns pointers to the fields of the struct that target points to, by the names in their
// tags. It includes the fields of nested structs. A field of a string type gives a *string.
func Fields(target any) map[string]any {
	found := map[string]any{}
	collect(reflect.ValueOf(target).Elem(), found)
	return found
}

func collect(v reflect.Value, found map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch name := field.Tag.Get("flag"); {
		case name != "" && field.Type.Kind() == reflect.String:
			found[name] = v.Field(i).Addr().Convert(reflect.TypeFor[*string]()).Interface()
		case name != "":
			found[name] = v.Field(i).Addr().Interface()
		case field.IsExported() && field.Type.Kind() == reflect.Struct:
			collect(v.Field(i), found)
		}
	}
}

// Defaults sets the fields of the struct that target points to, to the defaults of the verb. It
// panics if a field does not accept its default.
func Defaults(target any, verb Verb) {
	fields := Fields(target)
	for s := range Of(verb) {
		text, field := verb(s).Default, fields[s.Name]
		if text == "" || field == nil {
			continue
		}
		if err := Set(field, text); err != nil {
			panic(fmt.Sprintf("settings: default of %s: %v", s.Name, err))
		}
	}
}

// Set parses text into the variable that a pointer of Fields points to.
func Set(field any, text string) (err error) {
	switch p := field.(type) {
	case *string:
		*p = text
	case *time.Duration:
		*p, err = time.ParseDuration(text)
	case *int:
		*p, err = strconv.Atoi(text)
	case *bool:
		*p, err = strconv.ParseBool(text)
	default:
		err = fmt.Errorf("a field of type %T takes no text", field)
	}
	return err
}
