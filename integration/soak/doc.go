// Package soak tests that nothing is left behind after many sessions and many bytes.
//
// It opens, breaks and closes sessions at random; descriptors, goroutines and memory must not grow. Package lab starts
// the servers and clients.
package soak
