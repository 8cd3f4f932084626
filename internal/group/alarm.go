package group

import "time"

// An alarm calls a function under the coordinator's lock when its time has come,
// unless it is set anew or stopped before.
type alarm struct {
	timer *time.Timer
	times int // it was set or stopped
}

// set sets an alarm. The lock is held.
func (c *Coordinator) set(a *alarm, d time.Duration, ring func()) {
	a.stop()
	mine := a.times
	a.timer = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.times == mine { // a timer that fired just now cannot be stopped
			ring()
		}
	})
}

// stop lets an alarm ring no more. The lock is held.
func (a *alarm) stop() {
	a.times++
	if a.timer != nil {
		a.timer.Stop()
	}
}
