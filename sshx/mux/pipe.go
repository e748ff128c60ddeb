package mux

import (
	"io"
	"sync"
)

// A pipe passes data from a goroutine that writes to another that reads. Like io.Pipe, it has no memory of its own,
// and closing it ends a Read and a Write that wait.
//
// An io.Pipe wakes the writer after each Read. Here it sleeps until all of its data is read: the library reads a packet
// of SFTP in three or four parts, and one of 256 KiB is sent in eight. On two busy processors
// (BenchmarkPipe), 32 KiB that are read in such parts take 2.0 us in place of 5.9, and 256 KiB 9.6 us in place of 16.
type pipe struct {
	writing sync.Mutex // held by Write, so that the data of two do not mix

	mu    sync.Mutex // guards the following
	data  []byte     // of the Write under way, so far as it is not read
	err   error      // of the closed pipe
	given sync.Cond  // data has come, or err
	taken sync.Cond  // all data is read, or err has come
}

func newPipe() *pipe {
	p := new(pipe)
	p.given.L, p.taken.L = &p.mu, &p.mu
	return p
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 && p.err == nil {
		p.given.Wait()
	}
	if p.err != nil {
		return 0, p.err
	}
	n := copy(b, p.data)
	if p.data = p.data[n:]; len(p.data) == 0 {
		p.taken.Signal()
	}
	return n, nil
}

// Write implements io.Writer. It returns when b is read, or the pipe is closed, and does not use b after that.
func (p *pipe) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	p.data = b
	p.given.Signal()
	for len(p.data) > 0 && p.err == nil {
		p.taken.Wait()
	}
	n := len(b) - len(p.data)
	p.data = nil
	if n < len(b) {
		return n, p.err
	}
	return n, nil
}

// close ends the pipe for both sides; nil: with io.EOF. The first error counts.
func (p *pipe) close(err error) {
	if err == nil {
		err = io.EOF
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.given.Broadcast()
	p.taken.Broadcast()
}
