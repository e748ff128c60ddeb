// Package stage keeps the bytes of one file while many hosts get it, so that the file is read once and all hosts get the
// same bytes, also if it changes meanwhile:
//
//	var file stage.File
//	defer file.Close()
//	// copy a file to file.Files(), then copy it from there, any number of times at once
//
// A small file is kept in memory, a larger one in a temporary file that only this account can read. On Unix that file
// has no name, so that nothing of it stays when the process ends in any way.
package stage
