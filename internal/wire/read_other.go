//go:build !unix

package wire

// readSome is a Read of the connection itself, before which answers that are held back
// are written.
func (c *Conn) readSome(p []byte) (int, error) {
	if c.flushBefore(); c.broken != nil {
		return 0, c.broken
	}
	return c.c.Read(p)
}
