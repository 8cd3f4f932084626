package wire

import (
	"errors"
	"net"
	"os"
	"time"
)

// A deadline ends reads, or writes, at a limit. To tell a connection costs more
// than a small request may, so it is left out where the connection was told an
// earlier time: when that has passed, it is told the limit, and goes on.
type deadline struct {
	tell  func(time.Time)
	limit time.Time // zero for none
	told  time.Time // zero for none
}

// until sets the limit, zero for none.
func (d *deadline) until(limit time.Time) {
	d.limit = limit
	if limit.IsZero() || !d.told.IsZero() && !limit.Before(d.told) {
		return
	}
	d.renew()
}

func (d *deadline) renew() {
	d.told = d.limit
	d.tell(d.limit)
}

// early says whether an error comes of a time that was told and has passed before
// the limit has. Whoever got it goes on.
func (d *deadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if !d.limit.IsZero() && !time.Now().Before(d.limit) {
		return false
	}
	d.renew()
	return true
}

// tellRead sets the deadline of reads; once the server is closed there is no
// time left.
func (c *Conn) tellRead(limit time.Time) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.closed {
		limit = time.Now()
	}
	c.c.SetReadDeadline(limit) //nolint:errcheck // a broken connection shows at the next read
}

func (c *Conn) tellWrite(limit time.Time) {
	c.c.SetWriteDeadline(limit) //nolint:errcheck // a broken connection shows at the next write
}

// A timedReader reads from the connection itself.
type timedReader struct{ c *Conn }

// Read reads until the limit for reading.
func (r timedReader) Read(p []byte) (int, error) {
	for {
		n, err := r.c.readSome(p)
		if n > 0 || err == nil || r.c.broken != nil || r.c.server.ctx.Err() != nil || !r.c.reading.early(err) {
			return n, err
		}
	}
}

// An aheadReader is what a connection's buffer is filled from: c.ahead bytes at a
// time.
type aheadReader struct{ c *Conn }

func (r aheadReader) Read(p []byte) (int, error) {
	return timedReader(r).Read(p[:min(len(p), r.c.ahead)])
}

// write writes all that there is, in pieces that have WriteTime each.
func (c *Conn) write(all net.Buffers) error {
	for len(all) > 0 {
		if c.outHeld > 0 {
			c.stall()
		}
		c.writing.until(time.Now().Add(WriteTime))
		c.piece, all = first(all, writePiece)
		if err := c.writeBy(); err != nil {
			return err
		}
	}
	return nil
}

// writeBy writes the piece until the limit for writing.
func (c *Conn) writeBy() error {
	for len(c.piece) > 0 {
		if err := c.writeOnce(); err != nil && !c.writing.early(err) {
			return err
		}
	}
	return nil
}

// writeOnce writes what is left of the piece, and takes off it what was written.
func (c *Conn) writeOnce() error {
	if len(c.piece) > 1 {
		_, err := c.piece.WriteTo(c.c)
		return err
	}
	written, err := c.c.Write(c.piece[0])
	if c.piece[0] = c.piece[0][written:]; len(c.piece[0]) == 0 {
		c.piece = nil
	}
	return err
}
