import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * For the first line of a program: what is loaded after it is stripped of its types and compiled once, not at each run.
 * Where the folder cannot be written, nothing is kept.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
