import { useId, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { appLocale, t } from '../shared/text/labels.ts'
import { Outcome, SettingsSection, useAction } from './settings-form.tsx'

/** Settings for the language and the color scheme. */
export const AppearanceSettings = () => (
  <>
    <LanguageChoice />
    <SchemeChoice />
  </>
)

interface Language {
  lang: string
  nameInLanguage: string
}

function LanguageChoice() {
  const { connection } = useSession()
  const { run, ...state } = useAction()
  const languages = (connection.configs['locale']?.['available'] ?? []) as Language[]
  return (
    <SettingsSection title={t('app.settings.languageTitle')}>
      <ChoiceGroup
        label={t('app.settings.languageTitle')}
        choices={languages.map(({ lang, nameInLanguage }) => ({ value: lang, text: nameInLanguage, lang }))}
        selected={appLocale}
        choose={(lang) => run(() => changeLanguage(lang))}
      />
      <Outcome {...state} />
    </SettingsSection>
  )
}

async function changeLanguage(inputLang: string): Promise<undefined> {
  await api.language.change.mutate({ inputLang })
  const address = new URL(location.href)
  // A language in the address would override the choice.
  for (const name of ['lang', 'locale']) address.searchParams.delete(name)
  if (address.href === location.href) location.reload()
  else location.replace(address)
}

const schemes = ['system', 'light', 'dark'] as const
const root = document.documentElement

function SchemeChoice() {
  const [selected, setSelected] = useState(root.dataset['scheme'] ?? 'system')
  const { run, ...state } = useAction()
  const choose = (scheme: string) =>
    run(async () => {
      const { scheme: stored } = await api.appearance.change.mutate({ scheme: scheme as (typeof schemes)[number] })
      if (stored === 'system') delete root.dataset['scheme']
      else root.dataset['scheme'] = stored
      setSelected(stored)
      return undefined
    })
  return (
    <SettingsSection title={t('app.settings.schemeTitle')}>
      <ChoiceGroup
        label={t('app.settings.schemeTitle')}
        choices={schemes.map((value) => ({ value, text: t(`app.settings.scheme.${value}`) }))}
        selected={selected}
        choose={choose}
      />
      <Outcome {...state} />
    </SettingsSection>
  )
}

interface Choice {
  value: string
  text: string
  /** The language of the text, if it differs from that of the page. */
  lang?: string
}

interface ChoiceGroupProps {
  label: string
  choices: readonly Choice[]
  selected: string
  choose: (value: string) => unknown
}

/** Radio buttons that apply at once. */
function ChoiceGroup({ label, choices, selected, choose }: ChoiceGroupProps) {
  const name = useId()
  return (
    <div role="radiogroup" aria-label={label} className="choices">
      {choices.map(({ value, text, lang }) => (
        <label key={value} lang={lang?.slice(0, 2)}>
          <input type="radio" name={name} value={value} checked={value === selected} onChange={() => choose(value)} />{' '}
          {text}
        </label>
      ))}
    </div>
  )
}
