// Package resident gives memory back that the process has needed only to start.
package resident

// Release gives back the resident pages of files: the program's code, and data that never changes. They stay in the
// system's cache of pages, and those that are needed again are mapped again when they are touched.
//
// The system maps whole blocks of the file around each page that is touched, so that after a start of 20 ms nearly all
// code is resident, most of it for nothing. It gives such pages back by itself only when memory is short. Measured after
// tools/list: 7.5 MiB resident in place of 22.4.
//
// Only Linux does this; elsewhere, and where the system does not tell how its memory is used, nothing happens.
func Release() { release() }
