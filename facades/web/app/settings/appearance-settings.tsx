import { useId, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { appLocale, t } from '../shared/text/labels.ts'
import { listLanguages } from '../shared/text/languages.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import styles from './appearance-settings.module.css'
import { SettingsSection } from './settings-section.tsx'

/** Settings for the language and the color scheme. */
export const AppearanceSettings = () => (
  <>
    <LanguageChoice />
    <SchemeChoice />
  </>
)

function LanguageChoice() {
  const { connection } = useSession()
  const { run, ...state } = useAction()
  return (
    <SettingsSection title={t('app.settings.languageTitle')}>
      <ChoiceGroup
        label={t('app.settings.languageTitle')}
        choices={listLanguages(connection).map(({ lang, nameInLanguage }) => ({
          value: lang,
          text: nameInLanguage,
          lang,
        }))}
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

interface Option {
  value: string
  text: string
  /** The language of the text, if it differs from that of the page. */
  lang?: string
}

interface ChoiceGroupProps {
  label: string
  choices: readonly Option[]
  selected: string
  choose: (value: string) => unknown
}

/** Radio buttons that apply at once. */
function ChoiceGroup({ label, choices, selected, choose }: ChoiceGroupProps) {
  const name = useId()
  return (
    <div role="radiogroup" aria-label={label} className={styles.choices}>
      {choices.map(({ value, text, lang }) => (
        <Choice
          key={value}
          type="radio"
          name={name}
          value={value}
          checked={value === selected}
          onChange={() => choose(value)}
          label={<span lang={lang?.slice(0, 2)}>{text}</span>}
        />
      ))}
    </div>
  )
}
