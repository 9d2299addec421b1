#!/usr/bin/env node
import '../server/compile-cache.ts'

const { run } = await import('./run.ts')
await run('svc')
