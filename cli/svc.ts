#!/usr/bin/env node
import './compile-cache.ts'

const { run } = await import('./main.ts')
await run('svc')
