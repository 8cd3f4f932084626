package kafka

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A tweak is what a script says of a request beside the usual.
type tweak struct {
	words string
	do    func(s *scene, req kmsg.Request)
}

// with gives a field of the request, by its name in the protocol, another value.
// Strings are given as such where the field may be null, and nil is null.
func with(field string, value any) tweak {
	words := fmt.Sprintf("%s=%v", field, value)
	if text, ok := value.(string); ok {
		words = field + "=" + short(text)
	}
	return tweak{words, func(_ *scene, req kmsg.Request) {
		to := reflect.ValueOf(req).Elem().FieldByName(field)
		switch v := reflect.ValueOf(value); {
		case !v.IsValid():
			to.SetZero()
		case to.Kind() == reflect.Pointer:
			to.Set(reflect.New(to.Type().Elem()))
			to.Elem().Set(v.Convert(to.Type().Elem()))
		default:
			to.Set(v.Convert(to.Type()))
		}
	}}
}

// asking is a request with its tweaks; what is made before them is the usual.
func asking(words string, tweaks []tweak, make func(s *scene) kmsg.Request) step {
	for _, t := range tweaks {
		words += " " + t.words
	}
	return request(strings.TrimSpace(words), func(s *scene) kmsg.Request {
		req := make(s)
		for _, t := range tweaks {
			t.do(s, req)
		}
		return req
	})
}
