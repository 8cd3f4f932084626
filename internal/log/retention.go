package log

// TrimToSize trims whole batches from the start as long as at least keep bytes
// stay, as Kafka does with segments (retention.bytes).
func (l *Log) TrimToSize(keep int64) {
	surplus := l.Size() - keep
	l.trimWhile(func(h header) bool {
		surplus -= int64(h.size())
		return surplus >= 0
	})
}

// TrimBefore trims whole batches from the start as long as their greatest
// timestamp (milliseconds since 1970) is less than timestamp (retention.ms). A
// batch without timestamps stays, and with it what lies behind, since nobody knows
// how old it is.
func (l *Log) TrimBefore(timestamp int64) {
	l.trimWhile(func(h header) bool {
		t := h.maxTimestamp()
		return t >= 0 && t < timestamp
	})
}

// trimWhile trims the batches from the start up to, but not including, the first
// that stays.
func (l *Log) trimWhile(goes func(header) bool) {
	offset, pos := l.start, l.skip
	for i := range l.pieces {
		for buf := l.pieces[i].buf; pos < len(buf); {
			h := header(buf[pos:])
			if !goes(h) {
				l.trimTo(offset)
				return
			}
			offset = h.lastOffset() + 1
			pos += h.size()
		}
		pos = 0
	}
	l.trimTo(offset)
}
