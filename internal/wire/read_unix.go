//go:build unix

package wire

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// readSome is a Read of the connection itself. Answers that are held back are written
// when nothing is there to be read, before it waits.
func (c *Conn) readSome(p []byte) (n int, err error) {
	if c.raw != nil && c.pending() > 0 {
		return c.readOrFlush(p)
	}
	if c.flushBefore(); c.broken != nil {
		return 0, c.broken
	}
	return c.c.Read(p)
}

func (c *Conn) readOrFlush(p []byte) (n int, err error) {
	failed := c.raw.Read(func(fd uintptr) (done bool) {
		for n, err = syscall.Read(int(fd), p); errors.Is(err, syscall.EINTR); {
			n, err = syscall.Read(int(fd), p)
		}
		if !errors.Is(err, syscall.EAGAIN) {
			return true
		}
		c.flushBefore()
		return c.broken != nil
	})
	switch {
	case c.broken != nil:
		return 0, c.broken
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
