import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Import this first: modules that are loaded later are stripped of types and compiled once instead of at every run.
 * If the folder is not writable, nothing is cached.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
