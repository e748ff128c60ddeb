// Command fonts makes the font files of package screen/picture from the files that their
// authors publish; screen/picture/fonts/README.md says where those are from.
//
//	go run ./scripts/fonts -text JetBrainsMono_400Regular.ttf -bold JetBrainsMono_700Bold.ttf \
//		-unifont unifont.hex -upper unifont_upper.otf -out screen/picture/fonts
//
// Equal files give equal results, as long as the Go version compresses alike.
package main
