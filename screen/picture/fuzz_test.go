package picture_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"ptyctl/screen"
	"ptyctl/screen/picture"
)

// FuzzDraw draws the screen after any output.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(attributes), uint8(60), uint8(6), uint8(20), uint8(0), 0, 0, 0, 0)
	f.Add([]byte("\x1b[?2027h👨\u200d👩\u200d👧🇩🇪❤\ufe0f1\ufe0f\u20e3"), uint8(10), uint8(2), uint8(11), uint8(1), 1, 0, 300, 1)
	f.Add([]byte("┌─╔═╭╲▀░⣿\ue0b0🬀🭰漢\x1b[5 q"), uint8(3), uint8(9), uint8(32), uint8(2), -4, -4, 1, 7)
	f.Fuzz(func(t *testing.T, output []byte, cols, rows, height, theme uint8, x0, y0, x1, y1 int) {
		s := screen.New(int(cols), int(rows))
		s.Write(output[:min(len(output), 10_000)])
		o := picture.Options{Theme: picture.Themes()[int(theme)%3], Height: int(height), Part: image.Rect(x0, y0, x1, y1)}
		snap := s.Snapshot()
		p, err := picture.Draw(snap, o)
		if err != nil {
			return
		}
		if !p.Part.In(image.Rect(0, 0, snap.Cols, snap.Rows)) || p.Part.Empty() || p.Part.Dx() > picture.MaxCols || p.Part.Dy() > picture.MaxRows {
			t.Errorf("the part %v of a screen of %d x %d was drawn", p.Part, snap.Cols, snap.Rows)
		}
		var b bytes.Buffer
		if err := p.Encode(&b); err != nil {
			t.Fatalf("the picture of %q cannot be encoded: %v", output, err)
		}
		config, err := png.DecodeConfig(&b)
		if size := p.Bounds().Size(); err != nil || image.Pt(config.Width, config.Height) != size {
			t.Errorf("the file of a picture of %v has a size of %d x %d: %v", size, config.Width, config.Height, err)
		}
	})
}
