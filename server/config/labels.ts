import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Labels } from '../../routers/ports/locales.ts'
import { availableLocales, type Locale } from '../../routers/ports/locales.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'

type Texts = { [key: string]: string | Texts }
const texts: z.ZodType<Texts> = z.lazy(() => z.record(z.string(), z.union([z.string(), texts])))

/**
 * The built-in texts, with an operator's own over them: from `FOLDER/en_US.json`, then `{group}_en_US.json`, `{Name}_en_US.html`,
 * which is the label `_Name`, and last `custom_en_US.json`. Throws on a file that is no map of texts.
 */
export async function loadLabels(folder: string | undefined): Promise<Record<Locale, Labels>> {
  const files = folder ? await readdir(folder) : []
  const loaded = await Promise.all(
    availableLocales.map(async (locale) => {
      const own = listFiles(locale, files).map((file) => readLabels(join(String(folder), file), file))
      return [locale, Object.assign({}, builtInLabels[locale], ...(await Promise.all(own)))]
    }),
  )
  return Object.fromEntries(loaded)
}

/** In the order in which each stands over those before it. */
function listFiles(locale: Locale, files: readonly string[]): string[] {
  const last = `custom_${locale}.json`
  const groups = files.filter((file) => /^.+_([a-z]{2}_[A-Z]{2})\.(json|html)$/.exec(file)?.[1] === locale)
  const ordered = [`${locale}.json`, ...groups.filter((file) => file !== last).sort(), last]
  return ordered.filter((file) => files.includes(file))
}

async function readLabels(path: string, file: string): Promise<Labels> {
  const text = await readFile(path, 'utf8')
  if (file.endsWith('.html')) return { [`_${file.replace(/_[a-z]{2}_[A-Z]{2}\.html$/, '')}`]: text }
  try {
    return Object.fromEntries(flatten(texts.parse(JSON.parse(text))))
  } catch (cause) {
    throw new Error(`${path} is not a map of texts by key.`, { cause })
  }
}

/** Texts by dotted key. */
const flatten = (nested: Texts, parents = ''): [string, string][] =>
  Object.entries(nested).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[parents + key, value]] : flatten(value, `${parents}${key}.`),
  )
