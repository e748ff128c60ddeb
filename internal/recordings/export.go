package recordings

import (
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"ptyctl/record"
)

// The forms of an export.
const (
	FormV2   = "v2"  // asciicast v2
	FormV3   = "v3"  // as it is, decrypted
	FormText = "txt" // of the last screens and the output
	FormSVG  = "svg" // an animated picture
)

// Export writes a recording to w in a form. A picture has at most so many bytes; stderr says where it was cut.
func Export(w io.Writer, path, form string, most int, ids ...age.Identity) error {
	switch form {
	case FormSVG:
		return exportSVG(w, path, most, ids)
	case FormV3:
		return record.Plain(w, path, ids...)
	}
	r, err := record.Open(path, ids...)
	if err != nil {
		return err
	}
	defer r.Close()
	if form == FormV2 {
		return record.V2(w, r)
	}
	return record.Text(w, r)
}

func exportSVG(w io.Writer, path string, most int, ids []age.Identity) error {
	p, err := record.Play(path, ids...)
	if err != nil {
		return err
	}
	defer p.Close()
	cut, err := record.SVG(w, p, record.SVGOptions{MaxBytes: most})
	if err == nil && cut > 0 {
		fmt.Fprintf(os.Stderr, "ptyctl: the picture ends at %s, because it would be too large; see --max-bytes\n",
			strings.TrimSpace(record.Clock(cut)))
	}
	return err
}
