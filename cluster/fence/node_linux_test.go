package fence
const nodeEnv = "FENCE_TEST_NODE"
func nodeMain(string) {}
