package journal

import "context"

// followBuffer is how many events wait for a reader that is slower than they
// come.
const followBuffer = 1024

// A follower is one reader of events as they come.
type follower struct {
	events chan Event
	lost   uint64 // since the last event that found room
}

// Subscribe gives events as they come, until ctx ends and the channel is closed.
// A reader that falls behind by more than 1024 events loses some: the next
// one that it gets says how many in its field Lost. To see earlier events too,
// subscribe first, then ask for Events, and skip numbers seen already.
func (j *Journal) Subscribe(ctx context.Context) <-chan Event {
	f := &follower{events: make(chan Event, followBuffer)}
	j.mu.Lock()
	j.followers[f] = struct{}{}
	j.mu.Unlock()
	context.AfterFunc(ctx, func() { j.leave(f) })
	return f.events
}

func (j *Journal) leave(f *follower) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.followers, f)
	close(f.events)
}

// addLocked keeps an event and shows it to the followers.
func (j *Journal) addLocked(e *Event) {
	j.notes.events.add(e)
	if len(j.followers) == 0 {
		return
	}
	for f := range j.followers {
		f.offer(*e)
	}
}

// offer never blocks.
func (f *follower) offer(e Event) {
	e.Lost = f.lost
	select {
	case f.events <- e:
		f.lost = 0
	default:
		f.lost++
	}
}
