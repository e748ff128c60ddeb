// Package buffer keeps the last N bytes of a stream and lets any number of
// readers follow it by absolute offset.
//
// One goroutine writes what arrives; readers ask for bytes by their offset from
// the first byte ever written, and wait on a channel for more:
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
// What it promises:
//
//   - A reader owns nothing in the buffer: it is an offset, so it may stop, come
//     back or never come back. The writer never waits for one, beyond the moment
//     in which At copies.
//   - Every byte is exact. A reader that was too slow for the bytes it asked for
//     is told how many are gone (Slice.Dropped), never given others in silence.
//   - Memory is taken as bytes arrive, at most Options.MaxBytes (while it grows,
//     the old block lives on until it has been copied), and no more than a Pool
//     has room for. It is not given back before Free.
//   - A wake-up is a broadcast: it reaches all who wait, and none is lost between
//     looking and waiting.
//
// All methods may be called from any goroutine.
package buffer
