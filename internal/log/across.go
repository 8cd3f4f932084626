package log

import "sort"

// maxJoined is the most bytes that ReadAcross copies for one read, 1 MiB. It is
// what clients ask of a partition by default, and little beside a large piece,
// so that who reads a long log has hardly anything copied.
const maxJoined = 1 << 20

// ReadAcross is Read, but what it gives does not end with a piece of memory:
// up to maxJoined bytes are joined in a copy. more says that batches lie behind
// them though maxBytes is not reached.
func (l *Log) ReadAcross(offset int64, maxBytes int) (records []byte, more bool, err error) {
	records, err = l.Read(offset, maxBytes)
	if err != nil || len(records) == 0 || len(records) >= maxBytes {
		return records, false, err
	}
	behind := l.pieces[sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].base() > offset }):]
	if len(behind) == 0 {
		return records, false, nil
	}
	if len(records) >= maxJoined {
		return records, true, nil
	}
	joined, all := join(records, behind, min(maxBytes, maxJoined))
	return joined, !all && len(joined) < maxBytes, nil
}

// join copies records and what lies behind them, up to limit bytes in all, and
// says whether that is everything.
func join(records []byte, behind []piece, limit int) (joined []byte, all bool) {
	size := len(records)
	for i := range behind {
		size += len(behind[i].buf)
	}
	joined = append(make([]byte, 0, min(size, limit)), records...)
	for i := range behind {
		joined = append(joined, behind[i].buf[:min(len(behind[i].buf), limit-len(joined))]...)
	}
	return joined, len(joined) == size
}
