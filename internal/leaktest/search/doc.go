// Command search looks for the secrets of the tests in what they have put out:
//
//	go run ./internal/leaktest/search FOLDER
//
// FOLDER is what PTYCTL_TEST_TRAIL named while the tests ran (see package leaktest). Files *.output in it, such as what
// go test has printed, are searched too. The status is 0 if nothing was found.
package main
