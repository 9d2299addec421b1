import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/**
 * To be imported before a program: when that ends, the file `LOADED_PACKAGES` has the packages it has loaded, a line each, and
 * what modules have imported of Node itself.
 */
const loaded = new Set<string>()

registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
    if (name) loaded.add(name)
    if (url.startsWith('node:') && context.conditions.includes('import')) loaded.add(url)
    return next(url, context)
  },
})

process.on('exit', () => appendFileSync(process.env['LOADED_PACKAGES'] ?? '', `${[...loaded].join('\n')}\n`))
