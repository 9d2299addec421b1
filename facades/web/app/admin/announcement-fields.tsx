import { t } from '../shared/text/labels.ts'
import { readText } from './action-dialog.tsx'
import { TextWithPreview } from './text-with-preview.tsx'

/** The texts of an announcement in each language, as they are written and read. */
export const AnnouncementFields = ({ textIn = () => '' }: { textIn?: (locale: string) => string }) => (
  <>
    <TextWithPreview
      label={t('app.admin.germanText')}
      name="de_DE"
      value={textIn('de_DE')}
      hint={t('app.admin.textHint')}
    />
    <TextWithPreview
      label={t('app.admin.englishText')}
      name="en_US"
      value={textIn('en_US')}
      hint={t('app.admin.textHint')}
    />
  </>
)

/** The languages that are left empty are not among them. */
export function readTexts(form: FormData): { de_DE?: string; en_US?: string } {
  const [de, en] = [readText(form, 'de_DE'), readText(form, 'en_US')]
  return { ...(de && { de_DE: de }), ...(en && { en_US: en }) }
}
