package wire

import (
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A filler sets every field of a message to something: numbers that count up,
// strings that tell their number, two elements in each slice. The same message
// is always filled with the same.
type filler struct{ n int64 }

// filled fills a request or response, but not its version.
func filled[M any](m M) M {
	f := &filler{}
	f.fields(reflect.ValueOf(m).Elem(), "Version")
	return m
}

func (f *filler) fields(v reflect.Value, except string) {
	for i := range v.NumField() {
		if v.Type().Field(i).Name != except {
			f.value(v.Field(i))
		}
	}
}

func (f *filler) value(v reflect.Value) {
	if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
		f.n++
		tags.Set(1000+uint32(f.n), fmt.Appendf(nil, "tag-%d", f.n))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		f.fields(v, "")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.value(v.Index(0))
		f.value(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			f.value(v.Index(i))
		}
	default:
		f.scalar(v)
	}
}

func (f *filler) scalar(v reflect.Value) {
	f.n++
	switch {
	case v.CanInt():
		v.SetInt(1 + f.n%100) // fits an int8
	case v.CanUint():
		v.SetUint(uint64(1 + f.n%100))
	case v.CanFloat():
		v.SetFloat(float64(f.n) + 0.5)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text-%d", f.n))
	default:
		panic(fmt.Sprintf("a field of type %v cannot be filled", v.Type()))
	}
}
