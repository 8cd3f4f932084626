package journal

import (
	"context"
	"fmt"
)

// InHand is a batch, or a row of them, that was still being handled when the
// verdict was drawn, a second after it was asked for: a fault holds back the
// request or its answer. It may stand in the log or not.
type InHand struct {
	Text string `json:"text"`
	BatchRange

	acks int16
}

// reportInHand reports the batches that are still being handled.
func (q *inquiry) reportInHand(ctx context.Context) {
	if len(q.inHand) == 0 {
		return
	}
	v := &q.verdict
	v.several = v.several || q.several(ctx)
	v.InHand, v.Totals.InHand = fold(q.inHand, (*InHand).extend)
	for i := range v.InHand {
		v.InHand[i].say(v.several, v.Deleted)
	}
}

// extend adds a batch that follows in sequence.
func (h *InHand) extend(o *InHand) bool {
	return h.ProducerID >= 0 && h.acks == o.acks && h.BatchRange.extend(&o.BatchRange)
}

func (h *InHand) say(several, deleted bool) {
	what, verb := h.subject(several)
	if h.ProducerID >= 0 {
		what += " from " + client(h.Client)
	}
	if !deleted {
		verb = map[string]string{"was": "is", "were": "are"}[verb]
	}
	told := "nobody was told yet"
	switch {
	case deleted:
		told = "the topic was deleted meanwhile"
	case h.acks == 0:
		told = "what becomes of it is not known yet"
	}
	h.Text = fmt.Sprintf("%s %s still being handled: %s", what, verb, told)
}
