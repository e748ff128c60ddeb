// Package platforms runs the programs for other systems where that is possible on Linux.
//
// The tests have the tag platforms: task test:platforms runs them, a part of task test:long. wine_*_test.go runs the program
// for Windows under Wine 8 of Debian, which is not Windows:
//
//   - It lacks ProcessPrng, which Go needs: the tests add a bcryptprimitives.dll that they build
//     (testdata/bcryptprimitives.c).
//   - Its pseudo-console passes a program no standard files: testdata/starter connects them.
//   - It has no ResizePseudoConsole, so no window is resized here.
package platforms
