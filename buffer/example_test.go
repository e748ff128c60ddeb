package buffer_test

import (
	"fmt"
	"io"
	"sync"

	"ptyctl/buffer"
)

// A reader follows the stream to its end.
func Example() {
	b := buffer.New(buffer.Options{})

	var writer sync.WaitGroup
	writer.Go(func() {
		for _, line := range []string{"login: ", "admin\r\n", "web1# "} {
			io.WriteString(b, line)
		}
		b.Close()
	})

	var text []byte
	for next := int64(0); ; {
		s := b.At(next, 32<<10)
		if s.Dropped > 0 {
			fmt.Println("too slow, missed", s.Dropped, "bytes")
		}
		text = append(text, s.Data...)
		if s.EOF {
			break
		}
		next = s.Next
		if next == s.End {
			<-s.Changed
		}
	}
	writer.Wait()
	fmt.Printf("%q\n", text)
	// Output: "login: admin\r\nweb1# "
}

// A reader that asks for dropped bytes gets the oldest ones held, and the number that is gone.
func ExampleBuffer_At() {
	b := buffer.New(buffer.Options{MaxBytes: 8})
	io.WriteString(b, "0123456789")
	s := b.At(0, 4)
	fmt.Printf("%q, next %d, dropped %d\n", s.Data, s.Next, s.Dropped)
	// Output: "2345", next 6, dropped 2
}

func ExampleBuffer_LastLines() {
	b := buffer.New(buffer.Options{})
	io.WriteString(b, "one\ntwo\nthree\n$ ")
	fmt.Printf("%q\n", b.At(b.LastLines(2), 0).Data)
	// Output: "three\n$ "
}
