package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// main parses the flags; run does the work.
func main() {
	text := flag.String("text", "", "the TrueType `FILE` of the text font")
	bold := flag.String("bold", "", "the TrueType `FILE` of its bold face")
	unifont := flag.String("unifont", "", "the `FILE` unifont.hex")
	upper := flag.String("upper", "", "the `FILE` unifont_upper.otf")
	out := flag.String("out", "", "the `FOLDER` to write to")
	flag.Parse()
	if err := run(*text, *bold, *unifont, *upper, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fonts:", err)
		os.Exit(1)
	}
}

// run writes the three files.
func run(text, bold, unifont, upper, out string) error {
	if text == "" || bold == "" || unifont == "" || upper == "" || out == "" {
		return fmt.Errorf("missing arguments: pass all flags; see go doc ./scripts/fonts")
	}
	for name, file := range map[string]string{"JetBrainsMono-Regular.ttf.gz": text, "JetBrainsMono-Bold.ttf.gz": bold} {
		ttf, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(ttf); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}

	glyphs := map[rune][]byte{}
	if err := readHex(glyphs, unifont); err != nil {
		return fmt.Errorf("%s: %w", unifont, err)
	}
	if err := readOutlines(glyphs, upper); err != nil {
		return fmt.Errorf("%s: %w", upper, err)
	}
	packed, err := pack(glyphs)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "unifont.pages"), packed, 0o644)
}
