/* The least that a process can do: the floor of every start-up time. */
int main(void) { return 0; }
