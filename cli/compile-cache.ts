import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Import this module first, so that later modules are compiled and stripped of types only once instead of at every run.
 * If the folder is not writable, nothing is cached.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
