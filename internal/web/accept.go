package web

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types of answers that a client can choose between.
const (
	typeJSON   = "application/json"
	typeText   = "text/plain"
	typeStream = "text/event-stream"
)

// preferred is the offer that the client's Accept header likes best; the first
// one if it likes several alike, or none.
func preferred(r *http.Request, offers ...string) string {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	best, most := offers[0], 0.0
	for _, offer := range offers {
		if q := quality(accept, offer); q > most {
			best, most = offer, q
		}
	}
	return best
}

// quality is what an Accept header says of an offer, 0 to 1: the word of the
// most specific range that holds it (RFC 9110, 12.5.1).
func quality(accept, offer string) (q float64) {
	kind, _, _ := strings.Cut(offer, "/")
	specific := 0
	for _, part := range strings.Split(accept, ",") {
		named, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		rank := map[string]int{"*/*": 1, kind + "/*": 2, offer: 3}[named]
		if rank > specific {
			specific, q = rank, weight(params["q"])
		}
	}
	return q
}

// weight is 1 unless said.
func weight(text string) float64 {
	if q, err := strconv.ParseFloat(text, 64); err == nil {
		return q
	}
	return 1
}
