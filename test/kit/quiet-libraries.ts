/** The AI SDK writes what it thinks of a request to the console, where a run shows its progress. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
