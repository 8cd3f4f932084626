package fault

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
)

// maxCode is above every error code that Kafka has.
const maxCode = 1000

// renamed lists the names that Apache Kafka has given up since kerr took them
// (Kafka 2.6, class org.apache.kafka.common.protocol.Errors). The old ones are
// still read.
var renamed = map[string]string{"NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER"}

// codes gives each error of Kafka by its folded name, old names included;
// codeNames lists the names of today in order of their codes.
var codes, codeNames = errorTable()

func errorTable() (map[string]int16, []string) {
	codes := make(map[string]int16)
	var names []string
	for code := int16(-1); code <= maxCode; code++ {
		name, ok := kerrName(code)
		if !ok {
			continue
		}
		codes[fold(name)] = code
		codes[fold(codeName(code))] = code
		names = append(names, codeName(code))
	}
	return codes, names
}

// kerrName is the name that kerr has for a code other than 0. kerr answers an
// unknown code with the name of -1.
func kerrName(code int16) (string, bool) {
	err := kerr.TypedErrorForCode(code)
	if err == nil || err.Code != code {
		return "", false
	}
	return err.Message, true
}

// codeName is the name of an error as Kafka spells it today, and the number of
// one that has no name.
func codeName(code int16) string {
	name, ok := kerrName(code)
	if !ok {
		return strconv.Itoa(int(code))
	}
	if today, ok := renamed[name]; ok {
		return today
	}
	return name
}

// codeOf reads an error's name, in any case, or its number.
func codeOf(word string) (code int16, ok bool) {
	if n, err := strconv.ParseInt(word, 10, 16); err == nil {
		_, ok = kerrName(int16(n))
		return int16(n), ok
	}
	code, ok = codes[fold(word)]
	return code, ok
}
