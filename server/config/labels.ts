import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Labels } from '../../routers/ports/locales.ts'
import { availableLocales, type Locale } from '../../routers/ports/locales.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'

const overrides = z.record(z.string(), z.string())

/** The built-in texts, with an operator's own from `FOLDER/en_US.json` and the like over them; throws on a file that is no flat map. */
export async function loadLabels(folder: string | undefined): Promise<Record<Locale, Labels>> {
  const loaded = await Promise.all(
    availableLocales.map(async (locale) => {
      const file = folder && join(folder, `${locale}.json`)
      if (!file || !existsSync(file)) return [locale, builtInLabels[locale]]
      return [locale, { ...builtInLabels[locale], ...(await readOverrides(file)) }]
    }),
  )
  return Object.fromEntries(loaded)
}

async function readOverrides(file: string): Promise<Labels> {
  try {
    return overrides.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    throw new Error(`${file} is not a flat map of texts by key.`, { cause })
  }
}
