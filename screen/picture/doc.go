// Package picture draws a screen as an image, for people and models that look at pictures, and
// writes it as PNG.
//
//	s := screen.New(80, 24)
//	s.Write(output)
//	err := picture.Encode(file, s.Snapshot(), picture.Options{Theme: "light"})
//
// The parts:
//
//	Draw   -> a Picture, which is an image.Image, and the part of the screen that it shows
//	Encode -> the same, written as PNG
//	Themes -> the sets of colours to choose from
//
// # Drawing
//
// Text is JetBrains Mono, regular and bold; slanted letters are leaned. Lines, blocks, shades, braille, the
// separators of powerline and the shapes of legacy computing are drawn to fill their cells, so that they join without
// gaps. All other characters are GNU Unifont: Chinese, Japanese and Korean, Hebrew, Arabic, Thai, arrows, symbols and
// emoji in one colour. Scripts that need shaping are drawn letter by letter, from the left to the right. A character
// that no font has is drawn as a frame. Of a family of emoji the first is drawn, of a flag the letters of the
// country.
//
// All attributes and underlines are drawn; blinking text does not blink, and concealed text is not drawn. Bold text
// in one of the first eight colours is bright, as in xterm. In the themes "dark" and "light" a text with little
// contrast to its background is made lighter or darker; "xterm" has the exact colours of xterm. The picture has
// neither the title of the window nor the text that Mask covered.
//
// # Promises
//
//   - A picture shows at most 200 columns and 60 rows; a larger screen is cut, and a line below
//     the picture says so.
//   - Time and memory are bounded, whatever the screen shows: a picture has at most about 6 million pixels of 8 bytes
//     each while it is drawn, and each distinct glyph is drawn once.
//   - A picture with at most 256 colours has a palette. A usual screen becomes a file of 5 to
//     40 KB.
//   - Equal screens and options give equal pictures.
//   - The fonts are read when they are first used. After that they are shared, and take at most
//     3 MB. Functions may be called by several goroutines.
package picture
