import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Labels } from '../../routers/ports/locales.ts'
import { availableLocales, type Locale } from '../../routers/ports/locales.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'

type Texts = { [key: string]: string | Texts }
const texts: z.ZodType<Texts> = z.lazy(() => z.record(z.string(), z.union([z.string(), texts])))

/**
 * Loads the built-in texts and replaces them by an operator's texts: from `FOLDER/en_US.json`, then `{group}_en_US.json` and
 * `{Name}_en_US.html`, which is the label `_Name`, and last `custom_en_US.json`. Throws if a file is no map of texts.
 */
export async function loadLabels(folder: string | undefined): Promise<Record<Locale, Labels>> {
  const files = folder ? await readdir(folder) : []
  const entries = await Promise.all(
    availableLocales.map(async (locale) => {
      const overrides = listFiles(locale, files).map((file) => readLabels(join(String(folder), file), file))
      return [locale, Object.assign({}, builtInLabels[locale], ...(await Promise.all(overrides)))]
    }),
  )
  return Object.fromEntries(entries)
}

/** Lists the files of a language; each overrides those before it. */
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

/** Flattens nested texts to entries with dotted keys. */
const flatten = (nested: Texts, parents = ''): [string, string][] =>
  Object.entries(nested).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[parents + key, value]] : flatten(value, `${parents}${key}.`),
  )
