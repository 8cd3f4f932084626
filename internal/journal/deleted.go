package journal

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// deletedKept is how many verdicts on topics that were deleted are kept. Those
	// that are exactly once make room for those that are not.
	deletedKept = 1000

	// deletedFindingsKept is how many findings of a kind such a verdict holds: as
	// many as are printed.
	deletedFindingsKept = linesShown
)

// deletedTopics is the verdicts on topics that were deleted.
type deletedTopics struct {
	kept      []TopicVerdict // in order of deletion
	good, bad uint64         // that were not kept: exactly once, and not
}

// A draft is the verdict on a topic that is about to be deleted.
type draft struct {
	verdict TopicVerdict
	asked   uint64 // the newest request that it knows of
}

// drawBefore draws the verdicts on the topics that a request is about to delete,
// while their logs can be read. A request may name topics by ids that the journal
// does not know: then it is all topics.
func (j *Journal) drawBefore(ctx context.Context, req *kmsg.DeleteTopicsRequest) map[string]draft {
	names := j.followed(req)
	drafts := make(map[string]draft, len(names))
	if len(names) == 0 {
		return drafts
	}
	asked := j.awaitHand(ctx, names)
	for name := range names {
		// Once the topic is gone it is too late, even if the server shuts down.
		v, err := j.verdictOf(context.WithoutCancel(ctx), name, asked)
		if err == nil {
			drafts[name] = draft{v, asked}
		}
	}
	return drafts
}

// followed is the topics of a request that batches came for.
func (j *Journal) followed(req *kmsg.DeleteTopicsRequest) map[string]bool {
	asked, byID := make(map[string]bool), false
	for _, name := range req.TopicNames {
		asked[name] = true
	}
	for i := range req.Topics {
		if name := req.Topics[i].Topic; name != nil {
			asked[*name] = true
		} else {
			byID = true
		}
	}
	names := make(map[string]bool)
	j.mu.Lock()
	defer j.mu.Unlock()
	for name := range j.notes.topics {
		if byID || asked[name] {
			names[name] = true
		}
	}
	return names
}

// forget drops what is known of topics that were deleted, and keeps the verdicts
// on them: if they are made again their offsets begin anew.
func (j *Journal) forget(deleted *kmsg.DeleteTopicsResponse, drafts map[string]draft) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range deleted.Topics {
		if t := &deleted.Topics[i]; t.ErrorCode == 0 && t.Topic != nil {
			j.deleteTopicLocked(*t.Topic, drafts[*t.Topic])
		}
	}
}

func (j *Journal) deleteTopicLocked(name string, d draft) {
	later := j.hand.deleteTopic(name, d.asked)
	t := j.notes.topics[name]
	if t == nil {
		return
	}
	j.notes.forgetTopic(name)
	v := &d.verdict
	if later > 0 || v.Counts != t.summary() {
		v.Limits = append(v.Limits, "batches that came while the topic was being deleted were not looked at")
	}
	v.Topic, v.Seed, v.Counts = name, j.options.Seed, t.summary()
	v.ExactlyOnce = v.Totals == Totals{}
	v.markDeleted()
	j.notes.deleted.keep(*v)
}

// markDeleted makes the verdict one on a topic that is gone.
func (v *TopicVerdict) markDeleted() {
	v.Deleted = true
	v.Duplicated, v.Missing = foremost(v.Duplicated), foremost(v.Missing)
	v.Unconfirmed, v.Swallowed, v.InHand = foremost(v.Unconfirmed), foremost(v.Swallowed), foremost(v.InHand)
	for i := range v.InHand {
		v.InHand[i].say(v.several, true)
	}
}

// foremost keeps the first findings, and none of the room of the others.
func foremost[F any](found []F) []F {
	return slices.Clone(found[:min(len(found), deletedFindingsKept)])
}

func (d *deletedTopics) keep(v TopicVerdict) {
	if len(d.kept) >= deletedKept && !d.makeRoom(v.ExactlyOnce) {
		return
	}
	d.kept = append(d.kept, v)
}

// makeRoom drops a topic that is exactly once for one that is not. Where there is
// none the new one is counted only.
func (d *deletedTopics) makeRoom(good bool) bool {
	if good {
		d.good++
		return false
	}
	i := slices.IndexFunc(d.kept, func(k TopicVerdict) bool { return k.ExactlyOnce })
	if i < 0 {
		d.bad++
		return false
	}
	d.good++
	d.kept = slices.Delete(d.kept, i, i+1)
	return true
}

// lastOf finds the newest verdict on a deleted topic of this name, and says
// whether one of them was not exactly once.
func (d *deletedTopics) lastOf(name string) (last *TopicVerdict, bad bool) {
	for i := range d.kept {
		if d.kept[i].Topic == name {
			last, bad = &d.kept[i], bad || !d.kept[i].ExactlyOnce
		}
	}
	return last, bad
}

// addTo adds what is kept to a verdict.
func (d *deletedTopics) addTo(v *Verdict) {
	v.Topics = append(v.Topics, d.kept...)
	v.ExactlyOnce = v.ExactlyOnce && d.bad == 0 && !slices.ContainsFunc(d.kept, func(k TopicVerdict) bool { return !k.ExactlyOnce })
	if d.good > 0 {
		v.limit("%s, exactly once, beyond %d at a time are not listed", count(d.good, "topic that was deleted", "topics that were deleted"), deletedKept)
	}
	if d.bad > 0 {
		v.limit("%s, not exactly once, beyond %d at a time are not listed", count(d.bad, "topic that was deleted", "topics that were deleted"), deletedKept)
	}
}
