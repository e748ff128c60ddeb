// Package system has the calls of Unix that tests make, so that the tests compile on every system. On Windows, where the
// servers of the tests do not run, they return errors.ErrUnsupported.
package system
