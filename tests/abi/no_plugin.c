/* A shared library, but not a plugin. */
int just_a_library(void);

__attribute__((visibility("default"))) int just_a_library(void)
{
    return 1;
}
