// Package mask replaces the parts of outputs that differ between similar hosts: their names, addresses and clocks.
//
//	m := mask.New([]string{"web1.example.net", "192.0.2.7"})
//	m.Line([]byte("04:30:14 up 3 days, 1 user, load average: 0.00, 0.01, 0.05"))
//	// <time> up <uptime>, 1 user, load average: <load>
//
// It replaces, and nothing else:
//
//	<host>      a name of the host as a word, also before a dot
//	<address>   an address of the host, in any notation of it
//	<time>      a time of day with seconds or AM and PM, with the date around it if there is one; a date with a time
//	            of day in minutes; how long ago something was; the columns of ps(1) and top(1) for times
//	<pid>       a number after pid, the number in NAME[NUMBER]: of a line with a time, in the tree of systemctl status,
//	            and in the columns of ps and top
//	<uptime>    a duration after up or uptime, and the time since the boot in a line of dmesg
//	<load>      the numbers after load average, and a line of /proc/loadavg
//
// A date alone stays, as does a time of day in minutes alone: the first may be a release, the second a ratio. A time
// shortly after a word such as compiled, build, release, not after or expires stays, too: it does not come from a
// clock. The spaces beside a replaced column of ps and top become one, as their number depends on the value.
package mask
