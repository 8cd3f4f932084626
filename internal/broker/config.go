package broker

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A config is one entry of the table of a kind of resource: how its value reads,
// and what it is unless it is set.
type config struct {
	name  string
	kind  kmsg.ConfigType // the zero value is a name that no table has
	value string          // unless it is set anywhere; null for none
	from  string          // the broker's config that it follows unless it is set, "" for none
	check valueCheck      // nil takes any value of its kind
	doc   string          // what it is for, in a sentence
	fixed bool            // cannot be changed while the broker runs
}

// null is the default of a config that has none.
const null = "\x00"

// The kinds of values, short for the tables.
const (
	aBool     = kmsg.ConfigTypeBoolean
	aString   = kmsg.ConfigTypeString
	anInt     = kmsg.ConfigTypeInt
	aShort    = kmsg.ConfigTypeShort
	aLong     = kmsg.ConfigTypeLong
	aDouble   = kmsg.ConfigTypeDouble
	aList     = kmsg.ConfigTypeList
	aClass    = kmsg.ConfigTypeClass
	aPassword = kmsg.ConfigTypePassword
)

// bits is how wide the kinds of whole numbers are.
var bits = map[kmsg.ConfigType]int{aShort: 16, anInt: 32, aLong: 64}

// secret says whether a value is told to nobody: passwords, and what has a name
// that is not known (Kafka's ConfigHelper).
func (c *config) secret() bool { return c.kind == aPassword || c.kind == kmsg.ConfigTypeUnknown }

// read gives a value as DescribeConfigs tells it, or says in the words of
// Kafka's ConfigDef what is wrong with it.
func (c *config) read(raw string) (string, *refusal) {
	value, wrong := c.parse(raw)
	if wrong != "" {
		return "", invalid(c.name, raw, wrong)
	}
	if c.check != nil {
		if r := c.check(c.name, value); r != nil {
			return "", r
		}
	}
	if c.kind == aList {
		value = strings.Join(unique(elements(value)), ",")
	}
	return value, nil
}

// shown is a value as DescribeConfigs tells it. One that was stored before a
// table could refuse it is told as it is.
func (c *config) shown(raw string) string {
	if value, r := c.read(raw); r == nil {
		return value
	}
	return raw
}

// parse brings a value into the one form of its kind.
func (c *config) parse(raw string) (value, wrong string) {
	trimmed := strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' }) // as Java's trim
	switch c.kind {
	case aBool:
		if value = strings.ToLower(trimmed); value != "true" && value != "false" {
			wrong = "Expected value to be either true or false"
		}
	case aShort, anInt, aLong:
		n, err := strconv.ParseInt(trimmed, 10, bits[c.kind])
		if err != nil {
			wrong = "Not a number of type " + c.kind.String()
		}
		value = strconv.FormatInt(n, 10)
	case aDouble:
		return parseDouble(trimmed)
	case aList:
		value = strings.Join(elements(trimmed), ",")
	default:
		value = trimmed
	}
	return value, wrong
}

// elements are the entries of a list, without the spaces around them.
func elements(value string) []string {
	if value == "" {
		return nil
	}
	all := strings.Split(value, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// unique leaves out what comes again.
func unique(all []string) []string {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

// javaDouble is what Java's Double.parseDouble takes, but for hexadecimals.
var javaDouble = regexp.MustCompile(`^([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?$`)

// parseDouble reads a number and writes it as Java's Double.toString does: with
// an exponent below 0.001 and from ten millions on.
func parseDouble(s string) (value, wrong string) {
	m := javaDouble.FindStringSubmatch(s)
	if m == nil {
		return "", "Not a number of type DOUBLE"
	}
	f, _ := strconv.ParseFloat(m[1], 64) // out of range is infinite, as in Java
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN", ""
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64)+"inity", "+"), ""
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		return pointed(strconv.FormatFloat(f, 'f', -1, 64)), ""
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	n, _ := strconv.Atoi(exponent)
	return pointed(digits) + "E" + strconv.Itoa(n), ""
}

// pointed is a number with a point in it.
func pointed(digits string) string {
	if strings.Contains(digits, ".") {
		return digits
	}
	return digits + ".0"
}

// A valueCheck judges a value that has the form of its kind.
type valueCheck func(name, value string) *refusal

// invalid is how Kafka's ConfigException words a bad value.
func invalid(name, value, wrong string) *refusal {
	return refuse(kerr.InvalidConfig, "Invalid value %s for configuration %s: %s", value, name, wrong)
}

// atLeast wants a number n or above.
func atLeast(n int) valueCheck { return between(n, math.MaxInt) }

// between wants a number from low to high.
func between(low, high int) valueCheck {
	return func(name, value string) *refusal {
		switch f, _ := strconv.ParseFloat(value, 64); {
		case f < float64(low):
			return invalid(name, value, fmt.Sprintf("Value must be at least %d", low))
		case f > float64(high):
			return invalid(name, value, fmt.Sprintf("Value must be no more than %d", high))
		}
		return nil
	}
}

// gzipLevel wants one of gzip's levels, or -1 for its default.
func gzipLevel(name, value string) *refusal {
	if value != "-1" && between(1, 9)(name, value) != nil {
		return invalid(name, value, "Value must be between 1 and 9 or equal to -1")
	}
	return nil
}

// oneOf wants one of some words.
func oneOf(words ...string) valueCheck {
	return func(name, value string) *refusal {
		if slices.Contains(words, value) {
			return nil
		}
		return invalid(name, value, "String must be one of: "+strings.Join(words, ", "))
	}
}

// eachOf wants a list of some words, or an empty one.
func eachOf(words ...string) valueCheck {
	return func(name, value string) *refusal {
		all := elements(value)
		if slices.Contains(all, "") {
			return refuse(kerr.InvalidConfig, "Configuration '%s' values must not be empty.", name)
		}
		for _, one := range all {
			if r := oneOf(words...)(name, one); r != nil {
				return r
			}
		}
		return nil
	}
}

// both wants what each of some checks wants.
func both(checks ...valueCheck) valueCheck {
	return func(name, value string) *refusal {
		for _, c := range checks {
			if r := c(name, value); r != nil {
				return r
			}
		}
		return nil
	}
}

// aReplica is one entry of a list of throttled replicas; it may be empty.
var aReplica = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

// replicas wants PARTITION:BROKER,... or a star for all.
func replicas(name, value string) *refusal {
	all := elements(value)
	if value == "*" || !slices.ContainsFunc(all, func(s string) bool { return !aReplica.MatchString(s) }) {
		return nil
	}
	return invalid(name, "["+strings.Join(all, ", ")+"]", name+" must be the literal '*' or a list of replicas "+
		"in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
}
