// Package bench holds the benchmarks of the built program.
//
// Ratios to a raw connection in the same run are the metrics named x-raw. Run them with task bench. Package lab starts
// the program.
package bench
