package fault

import (
	"strconv"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
)

// maxCode is above every error code that Kafka has.
const maxCode = 1000

// codes gives each error of Kafka by its folded name, old names included;
// codeNames lists the names of today in order of their codes.
var codes, codeNames = errorTable()

func errorTable() (map[string]int16, []string) {
	codes := make(map[string]int16)
	var names []string
	for code := int16(-1); code <= maxCode; code++ {
		name, ok := wire.ErrorName(code)
		if !ok || code == 0 {
			continue
		}
		codes[fold(name)] = code
		codes[fold(kerr.TypedErrorForCode(code).Message)] = code
		names = append(names, name)
	}
	return codes, names
}

// codeName is the name of an error as Kafka spells it today, and the number of
// one that has no name.
func codeName(code int16) string {
	if name, ok := wire.ErrorName(code); ok {
		return name
	}
	return strconv.Itoa(int(code))
}

// codeOf reads an error's name, in any case, or its number.
func codeOf(word string) (code int16, ok bool) {
	if n, err := strconv.ParseInt(word, 10, 16); err == nil {
		_, ok = wire.ErrorName(int16(n))
		return int16(n), ok
	}
	code, ok = codes[fold(word)]
	return code, ok
}
