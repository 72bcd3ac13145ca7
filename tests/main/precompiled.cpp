// The target that the tests' precompiled header belongs to has to be a program.
int main() {}
