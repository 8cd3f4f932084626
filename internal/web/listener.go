package web

import (
	"net"
	"sync"
)

// limitListener is l with no more than most connections open at a time.
func limitListener(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

// A limited listener waits for a place before it accepts: connections beyond
// the limit stay in the system's queue.
type limited struct {
	net.Listener
	places  chan struct{}
	closed  chan struct{}
	closing sync.Once
}

// Accept waits for a place and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close also ends an Accept that waits for a place.
func (l *limited) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// A placed connection gives its place back when it is closed.
type placed struct {
	net.Conn
	leave func()
}

// Close closes the connection; its place is given back once.
func (c *placed) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
