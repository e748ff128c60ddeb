// Package buffer keeps the last N bytes of a stream and lets any number of readers follow it by absolute offset.
//
// One goroutine writes the incoming bytes; readers ask for bytes by their offset from the first byte ever written,
// and wait on a channel for more:
//
//	b := buffer.New(buffer.Options{})
//	go func() { io.Copy(b, conn); b.Close() }()
//
//	var next int64
//	for {
//		s := b.At(next, 32<<10)
//		os.Stdout.Write(s.Data)
//		if s.EOF {
//			break
//		}
//		next = s.Next
//		if next == s.End {
//			<-s.Changed
//		}
//	}
//
// The package guarantees:
//
//   - A reader holds no resource of the buffer: its offset is its whole state, so it may stop, come back or
//     disappear. The writer waits for a reader only while At copies.
//   - Every byte is exact. A reader that fell behind learns how many of its bytes are gone from Slice.Dropped; it
//     never gets other bytes in their place.
//   - Memory grows with the bytes received, up to Options.MaxBytes and the room in the Pool. While a block grows,
//     the old one stays until it has been copied. Memory is released by Free only.
//   - A wake-up is a broadcast: it reaches all waiting readers, and a change between reading and waiting is not
//     lost.
//
// All methods may be called from any goroutine.
package buffer
