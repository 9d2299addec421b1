#!/usr/bin/env node
import '../server/compile-cache.ts'

const { run } = await import('./main.ts')
await run('svc')
